"""One file a concept: pure functions from a timeline to a figure. No Streamlit."""
