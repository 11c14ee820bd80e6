package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grade says how bad a finding is.
type grade string

const (
	fine    grade = "ok"
	noted   grade = "note"    // something is not there that many jobs do not need
	risky   grade = "warning" // jobs work, and lose speed, room or safety
	failing grade = "failed"  // a job would fail
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Grade  grade  `json:"grade"`
	Found  string `json:"found"`
	Cost   string `json:"cost,omitempty"`
	Remedy string `json:"remedy,omitempty"` // mostly a command
}

// findings collects the results of all checks.
type findings []finding

func (f *findings) add(check string, g grade, found, cost, remedy string) {
	*f = append(*f, finding{check, g, found, cost, remedy})
}

// Thresholds of the checks.
const (
	fewFiles     = 4096      // open files
	littleMemory = 2 << 30   // bytes of a control group
	littleDisk   = 1 << 30   // bytes
	fewNames     = 10_000    // files that may be made
	smallShm     = 256 << 20 // bytes; containers have 64 MiB unless they are told otherwise
	slowCommit   = time.Second
	muchSkew     = 30 * time.Second
	muchJump     = 100 * time.Millisecond
)

// diagnose judges the facts.
func diagnose(f facts) findings {
	var out findings
	f.Build.judge(&out)
	f.Shared.judge(&out)
	f.Limits.judge(&out)
	f.Clock.judge(&out)
	f.FFmpeg.judge(&out)
	f.Python.judge(&out, f.Build.Version)
	if len(f.Dirs)+len(f.Stores) == 0 {
		out.add("directory", noted, "no directory or bucket was named", "nothing was tried where runs are saved",
			"bivouac doctor DIR")
	}
	for _, d := range f.Dirs {
		d.judge(&out)
	}
	for _, s := range f.Stores {
		s.judge(&out)
	}
	return out
}

func (b buildFacts) judge(out *findings) {
	how := "without cgo"
	if b.Cgo {
		how = "with cgo"
	}
	out.add("build", fine, fmt.Sprintf("bivouac %s, %s, %s, %s", b.Version, b.Go, b.Platform, how), "", "")
	if b.Advice == "" {
		out.add("jpeg", fine, "decoded by "+b.JPEG, "", "")
	} else {
		cost := "the fast transform (FastIDCT) is not there; the pixels are the same"
		if !strings.HasSuffix(b.Platform, "/amd64") {
			cost = "JPEG is decoded more slowly than by libjpeg-turbo; the pixels are the same"
		}
		out.add("jpeg", noted, "decoded "+b.JPEG+", without libjpeg-turbo", cost,
			"apt-get install libjpeg-turbo8-dev && CGO_ENABLED=1 go build -tags libjpeg ./cmd/bivouac")
	}
	out.add("stores", fine, "this build opens paths and "+strings.Join(b.Schemes, "://, ")+"://", "", "")
}

func (s sharedFacts) judge(out *findings) {
	if !s.Known {
		out.add("shared memory", noted, "this system has no memfd",
			"the Python client does not run here; Go programs do", "")
		return
	}
	if s.MemfdErr != nil {
		out.add("memfd", risky, oneLine(s.MemfdErr), "the Python client can neither save nor load; Go programs can",
			"docker run --security-opt seccomp=unconfined …  (or a profile that allows memfd_create)")
	} else {
		out.add("memfd", fine, "works", "", "")
	}
	switch {
	case s.ShmErr != nil:
		out.add("/dev/shm", noted, oneLine(s.ShmErr), "Bivouac does not need it; workers of torch's own DataLoader do",
			"mount -t tmpfs tmpfs /dev/shm")
	case s.ShmSize < smallShm:
		remedy := "mount -o remount,size=8g /dev/shm"
		if s.Container {
			remedy = "docker run --shm-size=8g …"
		}
		out.add("/dev/shm", noted, size(s.ShmSize)+", "+size(s.ShmFree)+" of it free",
			"Bivouac does not need it; workers of torch's own DataLoader may end with a bus error", remedy)
	default:
		out.add("/dev/shm", fine, size(s.ShmSize)+", "+size(s.ShmFree)+" of it free", "", "")
	}
}

func (l limitFacts) judge(out *findings) {
	if !l.Known {
		out.add("limits", noted, "not known on this system", "", "")
		return
	}
	files := l.Files.text(func(n int64) string { return strconv.FormatInt(n, 10) })
	if l.Files >= 0 && l.Files < fewFiles {
		out.add("open files", risky, "at most "+files, "readers of many shards may fail: too many open files",
			"ulimit -Hn 65536  (as root, or LimitNOFILE=65536 of the service)")
	} else {
		out.add("open files", fine, "at most "+files, "", "")
	}
	out.add("locked memory", fine, "at most "+l.Locked.text(size)+"; Bivouac locks none", "", "")
	if l.AddressSpace >= 0 {
		out.add("address space", risky, "at most "+l.AddressSpace.text(size),
			"a save in the background needs room for a copy of the model beside everything else", "ulimit -v unlimited")
	} else {
		out.add("address space", fine, "no limit", "", "")
	}
	left := int64(l.Cgroup) - l.CgroupUsed
	switch {
	case l.Cgroup < 0 && l.Memory > 0:
		out.add("memory", fine, size(l.Memory)+", and the control group has no limit", "", "")
	case l.Cgroup < 0:
		out.add("memory", fine, "the control group has no limit", "", "")
	case left < littleMemory:
		out.add("memory", risky, fmt.Sprintf("the control group may take %s, and takes %s", size(int64(l.Cgroup)),
			size(l.CgroupUsed)), "a save in the background needs room for a copy of the model, or the system kills the job",
			"docker update --memory 16g CONTAINER  (or resources.limits.memory of the pod)")
	default:
		out.add("memory", fine, fmt.Sprintf("the control group may take %s, and takes %s", size(int64(l.Cgroup)),
			size(l.CgroupUsed)), "", "")
	}
}

// text returns a limit in words.
func (l limit) text(number func(int64) string) string {
	if l < 0 {
		return "any number"
	}
	return number(int64(l))
}

func (c clockFacts) judge(out *findings) {
	const set = "timedatectl set-ntp true"
	switch {
	case c.Backwards:
		out.add("monotonic clock", failing, "went back", "times of steps and deadlines are wrong",
			"use another clock source of the kernel: /sys/devices/system/clocksource")
	default:
		out.add("monotonic clock", fine, "never went back", "", "")
	}
	cost := "certificates of servers are refused, and times in journals are wrong; no result depends on them"
	switch {
	case c.Wall.Before(c.Built):
		out.add("wall clock", risky, fmt.Sprintf("%s, before this program was written: %s",
			c.Wall.UTC().Format(time.DateTime), c.Built.UTC().Format(time.DateOnly)), cost, set)
	case c.Jump.Abs() > muchJump:
		out.add("wall clock", risky, "jumped by "+c.Jump.Round(time.Millisecond).String()+" during the checks", cost, set)
	case c.SyncKnown && !c.Synchronised:
		out.add("wall clock", noted, "the kernel does not count it as synchronised", cost, set)
	case c.SyncKnown:
		out.add("wall clock", fine, "synchronised, and did not jump", "", "")
	default:
		out.add("wall clock", fine, "did not jump", "", "")
	}
}

func (f ffmpegFacts) judge(out *findings) {
	const install = "apt-get install ffmpeg"
	const cost = "video, MP3 and sound of films cannot be read"
	switch {
	case !f.Found:
		out.add("ffmpeg", noted, "not in PATH", cost, install)
	case f.Err != nil:
		out.add("ffmpeg", risky, oneLine(f.Err), cost, install)
	case !f.Probe:
		out.add("ffmpeg", risky, f.Version+", and no ffprobe", "video cannot be read", install)
	default:
		out.add("ffmpeg", fine, f.Version, "", "")
	}
}

func (p pythonFacts) judge(out *findings, version string) {
	if p.BinaryErr != nil {
		out.add("BIVOUAC_BINARY", risky, p.Binary+": "+oneLine(p.BinaryErr), "the Python client does not start",
			"unset BIVOUAC_BINARY")
	}
	install := "pip install bivouac-ml==" + version
	if version == "" || version[0] < '0' || version[0] > '9' || strings.ContainsAny(version, "-+") {
		install = "pip install .  (in the clone that this command was built from)"
	}
	switch {
	case !p.Found:
		out.add("python", noted, "no program "+p.Program, "only Python trainers need it", "")
	case p.Err != nil:
		out.add("python", risky, p.Program+": "+oneLine(p.Err), "whether the client is installed is not known", "")
	case olderPython(p.Version):
		out.add("python", risky, "Python "+p.Version, "the client needs Python 3.10", "apt-get install python3.10")
	case p.Client == "":
		out.add("python", noted, "Python "+p.Version+", and the client is not installed", "only Python trainers need it",
			install)
	case p.Client != version:
		out.add("python", noted, "Python "+p.Version+", client "+p.Client+", and this command is "+version,
			"a client starts only a command of its own version; its wheel has one", install)
	default:
		out.add("python", fine, "Python "+p.Version+", client "+p.Client, "", "")
	}
}

// olderPython reports whether a version is below 3.10. A version that cannot be read is not.
func olderPython(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(major)
	n, err2 := strconv.Atoi(minor)
	return errors.Join(err, err2) == nil && (m < 3 || m == 3 && n < 10)
}

// lasting says of which file systems the contents are lost, and what that is called.
var lasting = map[string]string{
	"tmpfs": "memory", "ramfs": "memory", "overlay": "the top layer of a container",
}

// networked are file systems that other hosts may have mounted.
var networked = map[string]bool{"nfs": true, "cifs": true, "smb2": true, "lustre": true, "gpfs": true, "ceph": true,
	"beegfs": true, "9p": true, "fuse": true}

func (d dirFacts) judge(out *findings) {
	name := d.Path
	system := cmp.Or(d.System, "a file system that is not known")
	if d.Err != nil {
		out.add(name, failing, oneLine(d.Err), "no run can be saved there", remedyOf(d.Err, "mkdir -p "+name))
		return
	}
	if d.CommitErr != nil {
		out.add(name, failing, system+": "+oneLine(d.CommitErr), "no run can be saved there",
			remedyOf(d.CommitErr, "df -h "+name))
	} else {
		switch what := lasting[d.System]; {
		case what != "":
			out.add(name, risky, system+", which is "+what, "what is saved there is lost at a restart",
				"use a directory of a disk, or a volume")
		case networked[d.System]:
			out.add(name, noted, system+", which other machines may have mounted",
				"leftovers of killed saves wait for bivouac repair --apply", "")
		default:
			out.add(name, fine, system, "", "")
		}
		text := "a small save is durable after " + d.Commit.Round(10*time.Microsecond).String()
		if d.Commit > slowCommit {
			out.add(name+": commit", risky, text, "each save waits at least this long", "use another disk")
		} else {
			out.add(name+": commit", fine, text, "", "")
		}
		if d.Direct {
			out.add(name+": O_DIRECT", fine, "works", "", "")
		} else {
			out.add(name+": O_DIRECT", noted, "the file system refuses it",
				"saves go through the cache of the system, which is slower and evicts what others need",
				"use a directory of ext4 or XFS")
		}
	}
	switch {
	case d.Free < littleDisk:
		out.add(name+": room", risky, size(d.Free)+" free", "saves will fail soon", "bivouac prune --keep-last 3 "+name)
	case d.FreeNames >= 0 && d.FreeNames < fewNames:
		out.add(name+": room", risky, fmt.Sprintf("%d more files", d.FreeNames), "saves will fail soon",
			"bivouac prune --keep-last 3 "+name)
	default:
		out.add(name+": room", fine, size(d.Free)+" free", "", "")
	}
	if d.Links != nil {
		out.add(name+": links", noted, oneLine(d.Links), "steps cannot share files: Dedup copies them", "")
	} else {
		out.add(name+": links", fine, "work", "", "")
	}
	switch {
	case d.Lock != nil:
		out.add(name+": locks", risky, oneLine(d.Lock), "nothing keeps a second trainer out of a run", "")
	case !d.Exclusive:
		out.add(name+": locks", risky, "two holders got the same lock",
			"nothing keeps a second trainer out of a run", "")
	default:
		out.add(name+": locks", fine, "work", "", "")
	}
	if d.Left != nil {
		out.add(name+": trial", risky, oneLine(d.Left), "the directory of the trial stays", remedyOf(d.Left, ""))
	}
}

func (s storeFacts) judge(out *findings) {
	name := s.URL
	switch {
	case s.Err != nil:
		out.add(name, failing, oneLine(s.Err), "no run can be saved there", remedyOf(s.Err, ""))
		return
	case s.Replaced:
		out.add(name, failing, "a put on the condition that the name is free replaced the object",
			"two writers can take away each other's steps", "use a server with conditional writes")
		return
	case s.Differs:
		out.add(name, failing, "what was read is not what was put", "no run can be saved there",
			"use a server that reads what was written")
		return
	}
	out.add(name, fine, "keeps the laws of commits; a request takes "+s.Trip.Round(100*time.Microsecond).String(), "", "")
	switch ahead := s.Skew.Round(time.Second); {
	case !s.SkewKnown:
		out.add(name+": clock", noted, "the server does not tell its time", "", "")
	case ahead.Abs() > muchSkew:
		word := "ahead of"
		if ahead < 0 {
			word = "behind"
		}
		out.add(name+": clock", risky, fmt.Sprintf("this machine is %v %s the server", ahead.Abs(), word),
			"servers refuse requests of a clock that is minutes off; no result depends on it", "timedatectl set-ntp true")
	default:
		out.add(name+": clock", fine, "this machine and the server agree", "", "")
	}
	if s.Left != nil {
		out.add(name+": trial", risky, oneLine(s.Left), "the object of the trial stays", remedyOf(s.Left, ""))
	}
}

// remedyOf returns the remedy of an error, or another one.
func remedyOf(err error, otherwise string) string {
	return cmp.Or(newFailureText(err).Remedy, otherwise)
}
