"""Many runs: finding, filtering, removing and reusing them. Nothing here imports torch."""
