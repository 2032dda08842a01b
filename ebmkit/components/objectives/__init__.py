"""What training minimises: one objective a file."""
