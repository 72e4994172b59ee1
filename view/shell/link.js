// The address of the page as it is meant to be kept: not embedded, and with the whole query if it names no version.
export function link(query) {
  const url = new URL(window.location.href)
  for (const name of [...url.searchParams.keys()]) if (name.startsWith("embed")) url.searchParams.delete(name)
  if (!url.searchParams.has("v")) {
    for (const [name, value] of Object.entries(query)) if (!url.searchParams.has(name)) url.searchParams.set(name, value)
  }
  return url.href
}
