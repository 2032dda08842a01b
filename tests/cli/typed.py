"""Commands as they are typed, in this process."""

from click.testing import CliRunner, Result

from ebmkit.cli import group


def ebmkit(*words, status=0, **options) -> Result:
    done = CliRunner().invoke(group, list(words), prog_name="ebmkit", **options)
    assert done.exit_code == status, done.output + repr(done.exception)
    return done
