"""Pure functions from a result document to what people and machines read."""
