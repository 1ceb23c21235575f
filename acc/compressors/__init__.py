"""Compressors: each proposes the next state from the turn, the prior state and the evidence.

rules/             keyless and offline: cues, English
openai.py          a model behind OpenAI's API; openai_calls.py, openai_clients.py, hanging_up.py
langchain.py       any chat model of LangChain
choosing.py        which of the two a name stands for

What the two share, vendor-free:

model.py           the loops that make the calls; model_settings.py
compression.py     what is asked, and what is made of the answers: one repair, one smaller input
prompt.py          the prompt; fencing.py, input_budget.py, idle.py
answers.py         the JSON in an answer
judging.py         whether it can be meant; lifting_quotes.py, whether the end of a rule can
outcomes.py        the name of each way in which it ends
endpoint.py        what stands between this and an SDK
ladder.py          how an endpoint is held to the schema; probing.py finds out
retrying.py        the one retry layer; deadline.py
http_failures.py   what an HTTP error means; sdk_errors.py, what an SDK's exception does
"""
