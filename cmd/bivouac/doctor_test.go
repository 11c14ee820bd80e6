package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// healthy are the facts of a machine that lacks nothing.
func healthy() facts {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	return facts{
		Build: buildFacts{Version: "1.2.3", Go: "go1.26", Platform: "linux/amd64", Cgo: true, JPEG: "libjpeg-turbo 3.0.0",
			Schemes: []string{"s3"}},
		Shared: sharedFacts{Known: true, ShmSize: 8 << 30, ShmFree: 4 << 30},
		Limits: limitFacts{Known: true, Files: 1 << 20, Locked: 64 << 10, AddressSpace: -1, Memory: 64 << 30, Cgroup: 32 << 30,
			CgroupUsed: 1 << 30},
		Clock:  clockFacts{Wall: at, Built: at.AddDate(0, -1, 0), SyncKnown: true, Synchronised: true},
		FFmpeg: ffmpegFacts{Found: true, Version: "ffmpeg version 6.0", Probe: true},
		Python: pythonFacts{Program: "python3", Found: true, Version: "3.12.1", Client: "1.2.3"},
		Dirs: []dirFacts{{Path: "runs", System: "ext4", Free: 1 << 40, FreeNames: 1 << 20, Direct: true, Exclusive: true,
			Commit: time.Millisecond}},
		Stores: []storeFacts{{URL: "s3://b", Trip: time.Millisecond, SkewKnown: true, Skew: 400 * time.Millisecond}},
	}
}

func TestDoctorFindsNothingWhereNothingIsMissing(t *testing.T) {
	for _, f := range diagnose(healthy()) {
		if f.Grade != fine || f.Cost != "" || f.Remedy != "" || f.Found == "" {
			t.Errorf("%+v", f)
		}
	}
}

// Each fact that is wrong changes one grade, says what it costs, and mostly what to do.
func TestDoctorGradesEachFact(t *testing.T) {
	full := errors.New("no space left on device")
	for name, c := range map[string]struct {
		spoil  func(*facts)
		check  string
		grade  grade
		remedy string // a part of it
	}{
		"no libjpeg-turbo":   {func(f *facts) { f.Build.Advice = "build with cgo" }, "jpeg", noted, "go build -tags libjpeg"},
		"no shared memory":   {func(f *facts) { f.Shared = sharedFacts{} }, "shared memory", noted, ""},
		"memfd refused":      {func(f *facts) { f.Shared.MemfdErr = fs.ErrPermission }, "memfd", risky, "seccomp"},
		"no /dev/shm":        {func(f *facts) { f.Shared.ShmErr = fs.ErrNotExist }, "/dev/shm", noted, "mount -t tmpfs"},
		"small /dev/shm":     {func(f *facts) { f.Shared.ShmSize = 64 << 20 }, "/dev/shm", noted, "remount,size=8g"},
		"in a container":     {func(f *facts) { f.Shared.ShmSize, f.Shared.Container = 64<<20, true }, "/dev/shm", noted, "--shm-size"},
		"few files":          {func(f *facts) { f.Limits.Files = 1024 }, "open files", risky, "ulimit -Hn"},
		"limits not known":   {func(f *facts) { f.Limits = limitFacts{} }, "limits", noted, ""},
		"no address space":   {func(f *facts) { f.Limits.AddressSpace = 4 << 30 }, "address space", risky, "ulimit -v unlimited"},
		"small group":        {func(f *facts) { f.Limits.Cgroup = 2 << 30 }, "memory", risky, "--memory"},
		"monotonic backward": {func(f *facts) { f.Clock.Backwards = true }, "monotonic clock", failing, "clocksource"},
		"before the build":   {func(f *facts) { f.Clock.Wall = f.Clock.Built.AddDate(-1, 0, 0) }, "wall clock", risky, "set-ntp"},
		"a jump":             {func(f *facts) { f.Clock.Jump = -time.Second }, "wall clock", risky, "set-ntp"},
		"not synchronised":   {func(f *facts) { f.Clock.Synchronised = false }, "wall clock", noted, "set-ntp"},
		"no ffmpeg":          {func(f *facts) { f.FFmpeg = ffmpegFacts{} }, "ffmpeg", noted, "install ffmpeg"},
		"ffmpeg fails":       {func(f *facts) { f.FFmpeg.Err = full }, "ffmpeg", risky, "install ffmpeg"},
		"no ffprobe":         {func(f *facts) { f.FFmpeg.Probe = false }, "ffmpeg", risky, "install ffmpeg"},
		"no python":          {func(f *facts) { f.Python = pythonFacts{Program: "python3"} }, "python", noted, ""},
		"python fails":       {func(f *facts) { f.Python.Err = full }, "python", risky, ""},
		"old python":         {func(f *facts) { f.Python.Version = "3.9.2" }, "python", risky, "python3.10"},
		"no client":          {func(f *facts) { f.Python.Client = "" }, "python", noted, "pip install bivouac-ml==1.2.3"},
		"another client":     {func(f *facts) { f.Python.Client = "1.2.2" }, "python", noted, "pip install bivouac-ml==1.2.3"},
		"no binary":          {func(f *facts) { f.Python.BinaryErr = full }, "BIVOUAC_BINARY", risky, "unset"},
		"no directory named": {func(f *facts) { f.Dirs, f.Stores = nil, nil }, "directory", noted, "bivouac doctor DIR"},
		"not writable":       {func(f *facts) { f.Dirs[0].Err = fs.ErrPermission }, "runs", failing, "mkdir"},
		"no commit": {func(f *facts) { f.Dirs[0].CommitErr = &errs.Error{Err: full, Remedy: "free disk space"} }, "runs",
			failing, "free disk space"},
		"in memory":      {func(f *facts) { f.Dirs[0].System = "tmpfs" }, "runs", risky, "a volume"},
		"of a container": {func(f *facts) { f.Dirs[0].System = "overlay" }, "runs", risky, "a volume"},
		"network":        {func(f *facts) { f.Dirs[0].System = "nfs" }, "runs", noted, ""},
		"slow":           {func(f *facts) { f.Dirs[0].Commit = 3 * time.Second }, "runs: commit", risky, "another disk"},
		"no O_DIRECT":    {func(f *facts) { f.Dirs[0].Direct = false }, "runs: O_DIRECT", noted, "XFS"},
		"full":           {func(f *facts) { f.Dirs[0].Free = 1 << 20 }, "runs: room", risky, "bivouac prune"},
		"no names":       {func(f *facts) { f.Dirs[0].FreeNames = 12 }, "runs: room", risky, "bivouac prune"},
		"no links":       {func(f *facts) { f.Dirs[0].Links = fs.ErrPermission }, "runs: links", noted, ""},
		"no locks":       {func(f *facts) { f.Dirs[0].Lock = errors.ErrUnsupported }, "runs: locks", risky, ""},
		"useless locks":  {func(f *facts) { f.Dirs[0].Exclusive = false }, "runs: locks", risky, ""},
		"left":           {func(f *facts) { f.Dirs[0].Left = &errs.Error{Remedy: "rm -r x"} }, "runs: trial", risky, "rm -r x"},
		"no bucket":      {func(f *facts) { f.Stores[0].Err = &errs.Error{Remedy: "make it"} }, "s3://b", failing, "make it"},
		"no conditions":  {func(f *facts) { f.Stores[0].Replaced = true }, "s3://b", failing, "conditional"},
		"other bytes":    {func(f *facts) { f.Stores[0].Differs = true }, "s3://b", failing, "reads what was written"},
		"skewed":         {func(f *facts) { f.Stores[0].Skew = -2 * time.Minute }, "s3://b: clock", risky, "set-ntp"},
		"no server time": {func(f *facts) { f.Stores[0].SkewKnown = false }, "s3://b: clock", noted, ""},
	} {
		f := healthy()
		c.spoil(&f)
		found := 0
		for _, got := range diagnose(f) {
			switch {
			case got.Grade == fine:
			case got.Check == c.check && got.Grade == c.grade && strings.Contains(got.Remedy, c.remedy) && got.Found != "":
				found++
				if got.Cost == "" && c.check != "limits" && c.check != "s3://b: clock" {
					t.Errorf("%s: what it costs is not said: %+v", name, got)
				}
			default:
				t.Errorf("%s: another finding: %+v", name, got)
			}
		}
		if found != 1 {
			t.Errorf("%s: %d findings for %s", name, found, c.check)
		}
	}
}

// The exit status is 1 only if a check failed, and the document has every check.
func TestDoctorExitStatus(t *testing.T) {
	for _, c := range []struct {
		spoil func(*facts)
		fails bool
	}{
		{func(*facts) {}, false},
		{func(f *facts) { f.Limits.Files = 10; f.FFmpeg.Found = false }, false},
		{func(f *facts) { f.Dirs[0].Err = fs.ErrPermission }, true},
	} {
		f := healthy()
		c.spoil(&f)
		var out bytes.Buffer
		g := &global{stdout: &out, stderr: &out, json: true}
		list := diagnose(f)
		err := g.tellDiagnosis(list)
		if (err != nil) != c.fails || err != nil && exitCode(t.Context(), err) != exitFailure {
			t.Errorf("%v, want a failure: %t", err, c.fails)
		}
		var d diagnosis
		if err := json.Unmarshal(out.Bytes(), &d); err != nil || !slices.Equal(d.Checks, list) || d.Failed > 0 != c.fails {
			t.Errorf("%v: %s", err, &out)
		}
	}
}

// A trial leaves a directory as it was, also if it is interrupted.
func TestDoctorTrialLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := examineDir(t.Context(), dir)
	if err := cmpErr(d.Err, d.CommitErr, d.Left); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && (d.Free <= 0 || d.Commit <= 0) {
		t.Errorf("%+v", d)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if d := examineDir(ended, dir); d.CommitErr == nil {
		t.Error("an interrupted trial succeeded")
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || list[0].Name() != "mine" {
		t.Errorf("%v, %v", list, err)
	}
}

// An answer of a program is bounded, and its failure is told with its last line.
func TestDoctorAsksPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	if text, err := ask(t.Context(), "sh", "-c", "yes | head -c 1000000"); err != nil || len(text) != mostAnswer {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := ask(t.Context(), "sh", "-c", "echo first >&2; echo last >&2; exit 3"); err == nil ||
		!strings.Contains(err.Error(), "last") || strings.Contains(err.Error(), "first") {
		t.Errorf("%v", err)
	}
}
