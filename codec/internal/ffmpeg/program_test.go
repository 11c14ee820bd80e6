package ffmpeg

import (
	"fmt"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]string{
		"ffmpeg version 5.1.9-0+deb12u1 Copyright": "5 1 true",
		"ffmpeg version n7.1 Copyright":            "7 1 true",
		"ffmpeg version 4.4.2-0ubuntu0.22":         "4 4 true",
		"ffmpeg version 8":                         "8 0 true",
		"ffmpeg version N-109872-g1bb4c3c":         "1048576 0 true",
		"ffmpeg version git-2020-01-01":            "1048576 0 true",
		"ffmpeg version unknown":                   "-1 0 false",
		"ffprobe version 5.1":                      "0 0 false",
		"":                                         "0 0 false",
		"ffmpeg version 99999999":                  "999999 99 true",
	} {
		major, minor, ok := parseVersion(line, "ffmpeg")
		if got := fmt.Sprint(major, " ", minor, " ", ok); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
}
