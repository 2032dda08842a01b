"""New packages and components of plugin authors, written from templates."""
