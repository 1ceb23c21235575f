"""A worked example for each schema: python -m acc_schemas.examples.it_operations"""
