"""`python -m tenferro` and the script `tenferro`."""

import sys

from tenferro.errors import TenferroError

try:
    from tenferro.cli import main
except TenferroError as error:  # an environment variable that cannot be read
    sys.stderr.write(f"tenferro: {error}\n")
    raise SystemExit(2) from None
except KeyboardInterrupt:
    sys.stderr.write("tenferro: interrupted\n")
    raise SystemExit(130) from None

if __name__ == "__main__":
    sys.exit(main())
