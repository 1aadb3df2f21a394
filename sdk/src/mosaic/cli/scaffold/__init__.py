"""The project that ``mosaic workers new`` writes: small, readable, and passing every check as it comes."""
