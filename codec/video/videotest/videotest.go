// Package videotest is for tests that decode videos with ffmpeg.
package videotest

import (
	"os"
	"os/exec"
	"testing"
)

// Required is the name of an environment variable. If it is set, a test that needs ffmpeg fails
// where it would be skipped.
const Required = "BIVOUAC_REQUIRE_FFMPEG"

// Need skips a test, or fails it if Required is set, where ffmpeg or ffprobe is missing.
func Need(t testing.TB) {
	t.Helper()
	for _, name := range []string{"ffmpeg", "ffprobe"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv(Required) != "" {
				t.Fatalf("%s is missing, and %s is set", name, Required)
			}
			t.Skipf("%s is missing: install the package ffmpeg", name)
		}
	}
}
