"""Evicting: who gives way to whom, found as one plan.

Here belongs what actions that evict share: which victims may be considered (`rules`), how much room they could free at
most (`bounds`), in which order they go (`order`), what becomes of their gangs (`gangs`), in which domains room may be
made (`where`), and the search for a plan that places the beneficiary: task by task (`plans`) or for a whole gang
(`gang_plans`). Which jobs get a turn, and when, is the actions' business; what is kept free from one cycle to the next
is `framework.promises`.

A plan is all or nothing. It places tasks of its beneficiary with every constraint checked as if the victims were gone,
no victim can be taken out of it, and each victim's gang keeps its minimum or goes whole.
"""
