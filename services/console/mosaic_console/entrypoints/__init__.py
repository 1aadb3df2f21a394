"""What people and programs reach."""
