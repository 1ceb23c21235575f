"""Finds, shows, checks, compares and creates schemas: the functions behind ``acc schema``."""
