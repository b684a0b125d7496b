"""Print the variables that maturin sets, so that another cargo command shares its build of PyO3."""

import os
import struct
import sys
from pathlib import Path

target = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
print(f"PYO3_ENVIRONMENT_SIGNATURE=cpython-{sys.version_info[0]}.{sys.version_info[1]}-{8 * struct.calcsize('P')}bit")
for settings in sorted((target / "maturin").glob("pyo3-config-*.txt"))[:1]:
    print(f"PYO3_CONFIG_FILE={settings.resolve()}")
