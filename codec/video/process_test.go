//go:build unix

package video

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/codec/video/videotest"
	"github.com/bivouac-ml/bivouac/errs"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(ownerPath); path != "" {
		owner(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// ownerPath names the video of a process that owns a process of ffmpeg.
const ownerPath = "BIVOUAC_VIDEO_OWNER"

// owner begins to decode a video, says which process does it, and waits to be killed.
func owner(path string) {
	v, err := Open(context.Background(), path, Options{})
	if err != nil {
		panic(err)
	}
	d := v.NewDecoder()
	if err := d.Decode(context.Background(), 0, make([]byte, v.Width*v.Height*3)); err != nil {
		panic(err)
	}
	fmt.Println(d.stream.process.PID())
	time.Sleep(time.Hour)
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(stat), ") Z ") {
			return // it has ended, and its parent has not asked for it
		}
	}
	t.Errorf("process %d has not ended", pid)
}

// endless makes a video that ffmpeg does not finish: its frames exceed the pipe many times.
func endless(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "large.mkv")
	out, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=size=640x480:rate=25", "-frames:v", "60",
		"-c:v", "mpeg4", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestProcessEnds kills the owner of a process, ends its context and closes its decoder.
func TestProcessEnds(t *testing.T) {
	videotest.Need(t)
	path := endless(t)
	t.Run("owner", func(t *testing.T) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), ownerPath+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) != nil {
			t.Fatal("ffmpeg has ended before its owner")
		}
		cmd.Process.Kill()
		cmd.Wait()
		gone(t, pid)
	})
	for name, end := range map[string]func(t *testing.T, d *Decoder){
		"close": func(_ *testing.T, d *Decoder) { d.Close() },
		"context": func(t *testing.T, d *Decoder) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			p := make([]byte, 640*480*3)
			for i := 1; ; i++ {
				if err := d.Decode(ctx, i, p); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			d := v.NewDecoder()
			defer d.Close()
			if err := d.Decode(t.Context(), 0, make([]byte, 640*480*3)); err != nil {
				t.Fatal(err)
			}
			pid := d.stream.process.PID()
			end(t, d)
			gone(t, pid)
		})
	}
}

// TestKilled kills ffmpeg between frames. The frames stay the same, because it is begun again.
func TestKilled(t *testing.T) {
	videotest.Need(t)
	v := open(t, "h264.mp4", Options{})
	all := decodeAll(t, v)
	d := v.NewDecoder()
	defer d.Close()
	p := make([]byte, v.Width*v.Height*3)
	for i := range v.Frames() {
		if err := d.Decode(t.Context(), i, p); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p, all[i]) {
			t.Fatalf("frame %d differs", i)
		}
		if i%7 == 3 {
			syscall.Kill(d.stream.process.PID(), syscall.SIGKILL)
		}
	}
}

// fake puts a program called ffmpeg before the others in PATH. real is the program itself.
func fake(t *testing.T, name, script string) {
	t.Helper()
	videotest.Need(t)
	real, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := "#!/bin/sh\nreal=" + real + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const sayVersion = `[ "$1" = -version ] && exec $real -version
`

// TestFakes decodes with programs that do not do what ffmpeg does.
func TestFakes(t *testing.T) {
	for name, c := range map[string]struct {
		program, script string
		kind            errs.Kind
		says            string
	}{
		"no version":       {"ffmpeg", "echo hello", errs.Unsupported, `"hello"`},
		"no output":        {"ffmpeg", "exit 0", errs.Unsupported, "install"},
		"no success":       {"ffmpeg", "echo broken library >&2; exit 127", errs.Corrupt, "broken library"},
		"old":              {"ffmpeg", "echo ffmpeg version 2.8.17 Copyright", errs.Unsupported, "want version 4.4 or later, got 2.8"},
		"old ffprobe":      {"ffprobe", "echo ffprobe version 4.3-x", errs.Unsupported, "got 4.3"},
		"garbage":          {"ffmpeg", sayVersion + "head -c 100000 /dev/zero", errs.Corrupt, "format NUT"},
		"text":             {"ffmpeg", sayVersion + "yes", errs.Corrupt, "format NUT"},
		"nothing":          {"ffmpeg", sayVersion + "exit 0", errs.Corrupt, "the end of its output"},
		"an error":         {"ffmpeg", sayVersion + "echo no such codec >&2; exit 3", errs.Corrupt, `exit status 3, which says "no such codec"`},
		"a loud error":     {"ffmpeg", sayVersion + "yes 'too much' | head -c 1000000 >&2; exit 3", errs.Corrupt, "too much"},
		"too little":       {"ffmpeg", sayVersion + `$real "$@" | head -c 4000`, errs.Corrupt, "want frame 0"},
		"damage":           {"ffmpeg", sayVersion + `$real "$@" | tr '\000' '\001'`, errs.Corrupt, ""},
		"another video":    {"ffmpeg", sayVersion + `$real -v error -f lavfi -i testsrc=size=32x32 -f nut -c:v rawvideo -pix_fmt yuv420p pipe:1`, errs.Mismatch, "want 64 x 48 pixels"},
		"killed":           {"ffmpeg", sayVersion + "kill -9 $$", errs.IO, "killed"},
		"hangs":            {"ffmpeg", sayVersion + "sleep 1000", errs.Exhausted, "output within"},
		"ffprobe hangs":    {"ffprobe", sayVersion + "sleep 1000", errs.Exhausted, "output within"},
		"ffprobe garbage":  {"ffprobe", sayVersion + "head -c 100000 /dev/zero", errs.Corrupt, "a longer line"},
		"ffprobe nonsense": {"ffprobe", sayVersion + "echo 'stream|width=-3|height=x'; echo 'packet|pts=1|flags=K'", errs.Corrupt, "size"},
		"ffprobe no frame": {"ffprobe", sayVersion + "echo 'stream|width=64|height=48|time_base=1/25'", errs.Corrupt, "at least one frame"},
		"ffprobe no unit":  {"ffprobe", sayVersion + "echo 'packet|pts=1|flags=K'; echo 'stream|width=64|height=48|time_base=0/0'", errs.Corrupt, "a time base"},
	} {
		t.Run(name, func(t *testing.T) {
			fake(t, c.program, c.script)
			stall := time.Second
			if c.kind != errs.Exhausted { // a busy machine starts a program late
				stall = time.Minute
			}
			v, err := Open(t.Context(), path("h264.mp4"), Options{Stall: stall})
			if err == nil {
				d := v.NewDecoder()
				defer d.Close()
				p := make([]byte, v.Width*v.Height*3)
				for i := 0; err == nil && i < v.Frames(); i++ {
					err = d.Decode(t.Context(), i, p)
				}
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want %v and %q", err, c.kind, c.says)
			}
			if len(err.Error()) > 3000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// TestTooMuch reads from a program that writes more than the frames. Nothing waits for the rest.
func TestTooMuch(t *testing.T) {
	fake(t, "ffmpeg", sayVersion+`$real "$@"; yes`)
	v := open(t, "h264.mp4", Options{})
	if n := len(decodeAll(t, v)); n != v.Frames() {
		t.Errorf("%d frames", n)
	}
}

// TestMissing decodes without ffmpeg: an error says what to install, and some videos need none.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, s := range samples {
		v, err := Open(t.Context(), path(s.name), Options{})
		if s.inGo() {
			if err != nil || len(decodeAll(t, v)) != s.frames {
				t.Errorf("%s: %v", s.name, err)
			}
		} else if !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "install the package ffmpeg") {
			t.Errorf("%s: got %v", s.name, err)
		}
	}
}
