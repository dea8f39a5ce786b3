# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of ci/ for other projects: each command and option in them exists, and their
steps run, with programs in the place of those that need a network."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / 'ci/action.yml').read_text())
# Python takes on: for a truth.
WORKFLOW = yaml.safe_load((ROOT / 'ci/github-workflow.yml').read_text())
GITLAB = yaml.safe_load((ROOT / 'ci/gitlab-ci.yml').read_text())['rdma']
CONTAINER = (ROOT / 'ci/Containerfile').read_text()
PLACE = '/opt/rdma-ernic'
# In the place of scripts/ci-guests: the real one reads its options, and they are printed.
STUB = f'''#!/usr/bin/python3
import json, runpy
options = runpy.run_path('{ROOT}/scripts/ci-guests')['parse']()
print(json.dumps(vars(options) | {{'lock': None}}, default=str))
'''
APT = '#!/bin/sh\necho "$@" >>apt.log\n'
GIT = '''#!/bin/sh
test "$1 $2 $3 $4" = "clone --depth 1 the-address" && mv tree "$5"
'''


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(text, folder, **variables):
    """The output of a step, in the folder, as a service runs it."""
    program(folder / 'bin/apt-get', APT)
    program(folder / 'bin/git', GIT)
    done = subprocess.run(
        ['sh', '-e', '-c', text], cwd=folder, text=True, stdout=subprocess.PIPE,
        check=True, env={**os.environ, **variables,
                         'PATH': f'{folder}/bin:{os.environ["PATH"]}'})
    return done.stdout


def filled_in(text, inputs, outputs):
    """With the value of each expression of GitHub."""
    def value(m):
        kind, _, name = m[1].rpartition('.')
        return {'inputs': inputs, 'steps.version.outputs': outputs}[kind][name]
    return re.sub(r'\$\{\{ ([\w.]+) \}\}', value, str(text))


def commands():
    """The text of every command, by its file."""
    pages = (ROOT / 'docs/ci.md').read_text()
    return {
        'action.yml': '\n'.join(step.get('run', '') for step in ACTION['runs']['steps']),
        'gitlab-ci.yml': '\n'.join(GITLAB['before_script'] + GITLAB['script']),
        'Containerfile': re.sub(r'\\\n', '', CONTAINER),
        'ci.md': '\n'.join(re.findall(r'^    (.*)', pages, re.M))
                 + '\n'.join(re.findall(r'^\| `(--\S+)', pages, re.M))}


def described(name):
    return subprocess.run([ROOT / name, '--help'], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


@pytest.mark.parametrize('file', commands())
def test_commands(file):
    """Scripts exist, and their --help has each option."""
    text = commands()[file]
    scripts = set(re.findall(r'(?:scripts|guest/image)/[\w.-]+', text))
    assert scripts
    for name in scripts:
        assert os.access(ROOT / name, os.X_OK), name
    helped = ''.join(map(described, ('scripts/ci-guests', 'guest/image/build.py')))
    for line in text.splitlines():
        if re.search(r'ci-guests|build\.py|^ *--', line):
            for option in re.findall(r'(?<!\S)--[a-z][\w-]*', line):
                assert f'{option} ' in helped, option


@pytest.mark.parametrize('given', [{}, {'guests': '3', 'packages': 'fio,nvme-cli',
                                        'modules': 'nvme-rdma', 'timeout': '9',
                                        'results': 'of it'}])
def test_action(given, tmp_path):
    """Its steps, with the workflow's values, and with others."""
    step = next(step for step in WORKFLOW['jobs']['rdma']['steps'] if 'with' in step)
    assert step['uses'].split('@')[0].endswith('/ci')
    inputs = {name: one.get('default') for name, one in ACTION['inputs'].items()}
    for values in step['with'], given:
        assert set(values) <= set(inputs)
        inputs |= values
    assert None not in inputs.values()
    for folder in 'ci', 'guest', 'hw', 'include':
        program(tmp_path / 'tree' / folder / 'file', '')
    program(tmp_path / 'tree/scripts/ci-guests', STUB)
    outputs, said = {}, []
    for step in ACTION['runs']['steps']:
        values = {name: filled_in(value, inputs, outputs)
                  for name, value in (step.get('env') or step.get('with')).items()
                  } if 'env' in step or 'with' in step else {}
        if 'uses' in step:
            said.append(values)
            continue
        said.append(run(step['run'], tmp_path, GITHUB_OUTPUT=str(tmp_path / 'output'),
                        GITHUB_ACTION_PATH=str(tmp_path / 'tree/ci'), **values))
        if 'id' in step:
            outputs |= dict(line.split('=') for line in
                            (tmp_path / 'output').read_text().splitlines())
    _, cache, options, artifact = said
    assert re.fullmatch('rdma-ernic-[0-9a-f]{64}', cache['key'])
    options = json.loads(options)
    assert options['command'] == 'make check' and options['folder'] == '.'
    assert options['results'] == inputs['results'] == artifact['path']
    for name in 'guests', 'packages', 'modules', 'memory', 'timeout':
        assert str(options[name]) == inputs[name]
    assert not (tmp_path / 'apt.log').exists()


def test_workflow():
    """Ten lines, as docs/ci.md has them, in an image that the scripts know."""
    lines = [line for line in (ROOT / 'ci/github-workflow.yml').read_text().splitlines()
             if not line.startswith('#')]
    assert len(lines) <= 10
    assert ''.join(f'    {line}\n' for line in lines) in (ROOT / 'docs/ci.md').read_text()
    images = {WORKFLOW['jobs']['rdma']['container']['image'], GITLAB['image'],
              re.search('^FROM (.*)', CONTAINER, re.M)[1]}
    assert images == {'debian:13'}


def test_gitlab(tmp_path):
    """Its steps; the cache is in the project's folder, where GitLab wants it."""
    program(tmp_path / 'tree/scripts/ci-guests', STUB)
    text = '\n'.join(GITLAB['before_script'] + GITLAB['script'])
    said = run(text.replace(PLACE, str(tmp_path / 'opt')), tmp_path,
               RDMA_ERNIC_REPOSITORY='the-address')
    options = json.loads(said)
    assert options['command'] == 'make check'
    assert [options['results']] == GITLAB['artifacts']['paths']
    assert (tmp_path / 'apt.log').read_text().split('\n')[0] == 'update'
    home, = GITLAB['variables'].values()
    assert [f'{home}/rdma-ernic'] == [f'$CI_PROJECT_DIR/{path}'
                                      for path in GITLAB['cache']['paths']]


def test_container():
    """It starts the script that it has built for."""
    entry, = json.loads(re.search('^ENTRYPOINT (.*)', CONTAINER, re.M)[1])
    assert entry == f'{PLACE}/scripts/ci-guests'
    assert f'COPY . {PLACE}\n' in CONTAINER
