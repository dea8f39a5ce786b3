# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of the files of ci/, as they are there, each in a new root of Debian 13: they
install what they need, build QEMU and the guests' image, and run a program in two guests.

Each gives its cache to the next one, as a service gives it to the next run, so that most
of QEMU is compiled once. The runners, GitHub's own actions and podman are not here."""
import json
import re
import shlex
import shutil
from typing import NamedTuple

import pytest

import roots
import test_ci_files as ci

COMMAND = './perftest'
# Steps that have no counterpart here; what they would keep is looked at.
LEFT_OUT = {'actions/cache@v4', 'actions/upload-artifact@v4'}
MARK = 'the entry point'
# Signs of work that the build of the container should have done.
LATE = r'qemu-tree: (?:fetching|configuring|step)|guest/image: |Installing: '


class Service(NamedTuple):
    project: str                # the folder in which the steps run
    cache: str
    results: str
    script: str


def step(text, **variables):
    """A line of bash that runs a step as a service does."""
    words = [f'{name}={value}' for name, value in variables.items()]
    return shlex.join(['env', *words, 'sh', '-e', '-c', text]) + '\n'


def action():
    """In a container of GitHub; the repository is there without git."""
    home = '/github/home'
    inputs = {name: one.get('default') for name, one in ci.ACTION['inputs'].items()}
    inputs['run'] = COMMAND
    kept, script = {}, 'rm -rf /rdma-ernic/.git\n'
    for one in ci.ACTION['runs']['steps']:
        if 'uses' in one:
            kept[one['uses']] = one['with']['path']
            continue
        variables = {name: ci.filled_in(value, inputs, {})
                     for name, value in one.get('env', {}).items()}
        script += step(one['run'], HOME=home, GITHUB_OUTPUT='/github/output',
                       GITHUB_ACTION_PATH='/rdma-ernic/ci', **variables)
    assert set(kept) == LEFT_OUT
    cache, results = (ci.filled_in(path, inputs, {}) for path in kept.values())
    return Service('/__w/project', cache.replace('~', home), results,
                   script + 'grep "^key=[0-9a-f]\\{64\\}$" /github/output\n')


def container():
    """Built by the lines of the file in their order, and run as its first lines say."""
    script = ''
    lines = re.sub(r'\\\n', '', ci.CONTAINER).splitlines()
    for word, text in (line.split(' ', 1) for line in lines if line[:1] not in ('', '#')):
        if word == 'RUN':
            script += f'cd /\n{step(text, HOME="/root")}'
        elif word == 'COPY':
            source, place = text.split()
            script += f'mkdir -p {place}\ncp -a /rdma-ernic/{source} {place}\n'
        elif word == 'ENTRYPOINT':
            command = shlex.join([*json.loads(text), COMMAND])
            script += f'cd /src\necho {MARK}\n{step(command, HOME="/root")}'
        else:
            assert (word, text) == ('FROM', 'debian:13')
    return Service('/src', '/root/.cache/rdma-ernic', 'ci-results', script)


def gitlab():
    project = '/builds/project'
    variables = {name: text.replace('$CI_PROJECT_DIR', project)
                 for name, text in ci.GITLAB['variables'].items()}
    text = '\n'.join(ci.GITLAB['before_script'] + ci.GITLAB['script'])
    assert text.count('make check') == 1
    return Service(project, f'{project}/{ci.GITLAB["cache"]["paths"][0]}',
                   ci.GITLAB['artifacts']['paths'][0],
                   'chown -R root: /rdma-ernic\n'
                   + step(text.replace('make check', COMMAND), HOME='/root',
                          CI_PROJECT_DIR=project,
                          RDMA_ERNIC_REPOSITORY='file:///rdma-ernic', **variables))


@pytest.fixture(scope='module', name='cache')
def kept_cache(tmp_path_factory):
    """A folder; empty for the first service."""
    return tmp_path_factory.mktemp('cache')


def run(service, cache, folder):
    """(output, folder of the results) of the steps."""
    (folder / 'project').mkdir()
    (folder / 'results').mkdir()
    shutil.copy(roots.ROOT / 'ci/perftest', folder / 'project')
    roots.clone(folder / 'rdma-ernic')
    status, said = roots.run(
        'trixie', folder, f'set -e\ncd {service.project}\n{service.script}',
        [f'mkdir -p "$1{service.project}" "$1{service.cache}" "$1/github"',
         f'sync-in {folder}/project {service.project}',
         f'copy-in {folder}/rdma-ernic /', f'sync-in {cache} {service.cache}'],
        [f'sync-out {service.cache} {cache}',
         f'sync-out {service.project}/{service.results} {folder}/results'])
    assert status == 0, said[-4000:]
    return said, folder / 'results'


@pytest.mark.parametrize('service', [action, container, gitlab],
                         ids=lambda service: service.__name__)
def test_service(service, cache, tmp_path):
    """Both guests have run the command, and its results are where the service looks."""
    first = not any(cache.iterdir())
    said, results = run(service(), cache, tmp_path)
    for guest in 'guest1', 'guest2':
        assert f'\n{guest}: status 0\n' in said, said[-4000:]
        assert (results / guest / 'console.txt').stat().st_size
    text = (results / 'guest2/bandwidth.txt').read_text()
    gigabits = float(re.search(r'^ *65536\s+\d+\s+\S+\s+(\S+)\s+\S+$', text, re.M)[1])
    seconds = re.findall(r'qemu-tree: built in (\d+) s', said)
    print(f'QEMU was built in {seconds[0]} s' + ', without a cache' * first
          + f'; {gigabits} Gbit/s')
    assert gigabits > 0
    if service is container:
        late = said.partition(f'\n{MARK}\n')[2]
        assert late and not re.search(LATE, late), late
