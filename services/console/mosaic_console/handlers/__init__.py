"""What the door does, one function for each wish."""
