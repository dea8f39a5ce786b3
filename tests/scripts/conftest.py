# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of scripts and of what tests share. --tap: for meson."""
pytest_plugins = ['tap']
