"""Take small pictures of a report in headless Chromium: desktop, dark, phone.

Usage: python -m tools.screenshots report.html FOLDER
"""

import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
DARK = ["--blink-settings=preferredColorScheme=0"]
SHOTS = {
    "report-desktop": (1200, 1400, 0.7, []),
    "report-dark": (1200, 1400, 0.5, DARK),
    "report-phone": (500, 1500, 0.6, []),
}

page, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
folder.mkdir(parents=True, exist_ok=True)
for name, (width, height, scale, more) in SHOTS.items():
    with tempfile.TemporaryDirectory() as profile:
        out = folder / f"{name}.png"
        size = [f"--window-size={width},{height}", f"--force-device-scale-factor={scale}"]
        command = [
            "chromium",
            *FLAGS,
            *more,
            *size,
            f"--user-data-dir={profile}",
            f"--screenshot={out}",
        ]
        subprocess.run([*command, page.as_uri()], check=True, capture_output=True)
        print(f"{out.name}: {out.stat().st_size // 1024} kB")
