"""What components, authors and the engine promise each other. Nothing here imports torch except `modules/`."""
