"""All presets."""

from view.gallery import gallery

gallery()
