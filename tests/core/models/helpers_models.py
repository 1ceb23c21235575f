"""Ask a model, either way, and get what it answers or raises."""

import asyncio


def answered(model, messages, schema, way, **more):
    """Return the completion, or the error."""
    try:
        if way == "async":
            return asyncio.run(model.acomplete(messages, schema, **more))
        return model.complete(messages, schema, **more)
    except Exception as error:
        return error
