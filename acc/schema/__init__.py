"""Finds, shows, checks and creates schemas: the functions behind ``acc schema``."""
