"""Compare: the same requests, served in two ways."""

from view.compare import compare

compare()
