// Keeps `step` and `r` of the address up to date. Everything else in it is Streamlit's: it makes the history's entries.
export default function ({ data }) {
  const url = new URL(window.location.href)
  const query = url.searchParams
  if (!query.has("v")) {
    for (const [name, value] of Object.entries(data.query)) query.set(name, value)
  }
  for (const name of ["step", "r"]) {
    if (name in data.query) query.set(name, data.query[name])
    else query.delete(name)
  }
  if (url.search !== window.location.search) window.history.replaceState(window.history.state, "", url)
}
