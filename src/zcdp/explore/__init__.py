"""Explore: plans in the browser, on this machine; `zcdp explore` starts it.

A question of the page goes from `server` to a process of its own (`desk`, `worker`), where `questions` answers it with
pieces of HTML (`plan_view`, `understand_view`, `train_view`, `budget_view`). `draft` keeps the text of the plan while
it is changed, and `edits` changes it. The server computes nothing itself: what takes long is ended when a newer
question comes.
"""
