"""The state machine over the core."""

from hypothesis import settings

from .machine import LeaseMachine

TestLeaseMachine = LeaseMachine.TestCase
TestLeaseMachine.settings = settings(max_examples=100, stateful_step_count=60, deadline=None)
