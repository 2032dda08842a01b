"""Every built-in component against a closed form, an enumeration or a second way to compute it."""
