package training_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/crash"
)

// childDevice tells the test binary that it may mount file systems: it has a mount namespace of
// its own.
const childDevice = "BIVOUAC_DEVICE_TEST"

// TestLongDevice has a run save, replace and remove steps on a file system of the kernel, on a
// block device whose writes and flushes are logged. For each flush it makes the device as a loss of
// power leaves it, mounts it, and opens the run as the next process would: nothing that was
// acknowledged is lost, and nothing torn is visible. The device is a loop over a file that a small
// FUSE server of the test has.
func TestLongDevice(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			if os.Getenv(childDevice) != "" {
				deviceCrashes(t, kind)
				return
			}
			if _, err := exec.LookPath("mkfs." + kind); err != nil {
				t.Skip(err)
			}
			if err := mayMount(); err != nil {
				t.Skipf("this machine does not allow it: %v", err)
			}
			cmd := exec.Command(os.Args[0], "-test.run=^TestLongDevice$/^"+kind+"$", "-test.v", "-test.timeout=20m")
			cmd.Env = append(os.Environ(), childDevice+"="+t.TempDir())
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// mayMount says why file systems cannot be mounted here.
func mayMount() error {
	for _, name := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		f.Close() //nolint:errcheck // nothing was written
	}
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd.Run()
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func deviceCrashes(t *testing.T, kind string) {
	root := os.Getenv(childDevice)
	at := func(name string) string { return filepath.Join(root, name) }
	for _, dir := range []string{"fuse", "disk", "after"} {
		if err := os.Mkdir(at(dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	image := at("image")
	if err := os.WriteFile(image, make([]byte, 32<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	makes := []string{"mkfs." + kind, image}
	if kind == "xfs" { // else at least 300 MB
		makes = []string{"mkfs.xfs", "--unsupported", image}
	}
	command(t, makes[0], makes[1:]...)
	contents, err := os.ReadFile(image)
	if err != nil {
		t.Fatal(err)
	}
	d := crash.NewDevice(contents)
	serveDevice(t, d, at("fuse"))
	command(t, "mount", "-o", "loop,noatime", at("fuse")+"/device", at("disk"))
	c, err := training.Open(t.Context(), at("disk/run"),
		&training.Options{Clean: true, Preserve: training.LatestN{N: keep}})
	if err != nil {
		t.Fatal(err)
	}
	const steps = 6
	for n := range int64(steps) {
		items := map[string]any{"state": model(n), "frozen": frozen(), "data": position(n)}
		if _, err := c.SaveCheckpointables(t.Context(), n, items, &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		d.Event(strconv.FormatInt(n, 10))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	command(t, "umount", at("disk"))
	r := rand.New(rand.NewPCG(1, 2))
	states, most := 0, 0
	d.Crashes(func() bool { return r.IntN(2) == 0 }, func(number int, contents []byte, acked []string) bool {
		states, most = states+1, number
		if err := os.WriteFile(image, contents, 0o666); err != nil {
			t.Fatal(err)
		}
		command(t, "mount", "-o", "loop,noatime", image, at("after"))
		last := int64(-1)
		if len(acked) > 0 {
			last, _ = strconv.ParseInt(acked[len(acked)-1], 10, 64) //nolint:errcheck // Event wrote it
		}
		checkKilled(t, number, at("after/run"), last)
		command(t, "umount", at("after"))
		return !t.Failed()
	})
	if most < steps || states < most {
		t.Errorf("%d flushes for %d steps", most, steps)
	}
	t.Logf("%s: %d steps, %d flushes, %d states of the device", kind, steps, most, states)
}

// serveDevice mounts a FUSE file system at dir with one file, device, which is d: its writes and
// syncs counts the syncs of the loop device over it.
func serveDevice(t *testing.T, d *crash.Device, dir string) {
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR, 0)
	if err == nil {
		err = syscall.Mount("device", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		syscall.Unmount(dir, syscall.MNT_DETACH) //nolint:errcheck // it ends with the namespace at the latest
		<-done
		syscall.Close(fd) //nolint:errcheck // nothing was written
	})
	go func() { // until it is unmounted
		defer close(done)
		b := make([]byte, 1<<20)
		for {
			n, err := syscall.Read(fd, b)
			switch {
			case err == syscall.EINTR || err == syscall.ENOENT:
				continue
			case err != nil:
				return
			}
			if answer := fuse(d, b[:n]); answer != nil {
				syscall.Write(fd, answer) //nolint:errcheck // the kernel has given the request up
			}
		}
	}()
}

// fuse answers a request of the kernel. It returns nil for a request without an answer. The numbers
// come from linux/fuse.h, 7.31.
func fuse(d *crash.Device, b []byte) []byte {
	const (
		lookup, forget, getattr, setattr, open, read, write = 1, 2, 3, 4, 14, 15, 16
		release, fsync, flush, initialize, opendir          = 18, 20, 25, 26, 27
		releasedir, access, interrupt, forgets              = 29, 34, 36, 42
		device                                              = 2 // the node of the file; 1 is the root
	)
	le := binary.LittleEndian
	op, node, in := le.Uint32(b[4:]), le.Uint64(b[16:]), b[40:]
	answer := func(errno syscall.Errno, body []byte) []byte {
		out := make([]byte, 16, 16+len(body))
		le.PutUint32(out, uint32(16+len(body)))
		le.PutUint32(out[4:], uint32(-int32(errno)))
		copy(out[8:16], b[8:16])
		return append(out, body...)
	}
	attributes := func(out []byte, node uint64) {
		le.PutUint64(out, node)
		mode, links := uint32(syscall.S_IFDIR|0o755), uint32(2)
		if node == device {
			mode, links = syscall.S_IFREG|0o600, 1
			le.PutUint64(out[8:], uint64(d.Size()))
			le.PutUint64(out[16:], uint64(d.Size()/512))
		}
		le.PutUint32(out[60:], mode)
		le.PutUint32(out[64:], links)
		le.PutUint32(out[80:], 4096)
	}
	switch op {
	case initialize:
		out := make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[8:], 128<<10)  // read ahead
		le.PutUint32(out[20:], 128<<10) // the largest write
		le.PutUint32(out[24:], 1)
		return answer(0, out)
	case lookup:
		if node != 1 || string(in) != "device\x00" {
			return answer(syscall.ENOENT, nil)
		}
		out := make([]byte, 128)
		le.PutUint64(out, device)
		attributes(out[40:], device)
		return answer(0, out)
	case getattr, setattr:
		out := make([]byte, 104)
		attributes(out[16:], node)
		return answer(0, out)
	case open, opendir:
		return answer(0, make([]byte, 16))
	case read:
		off, n := int64(le.Uint64(in[8:])), int64(le.Uint32(in[16:]))
		out := make([]byte, max(0, min(n, d.Size()-off)))
		d.ReadAt(out, off)
		return answer(0, out)
	case write:
		n := le.Uint32(in[16:])
		d.WriteAt(in[40:40+n], int64(le.Uint64(in[8:])))
		out := make([]byte, 8)
		le.PutUint32(out, n)
		return answer(0, out)
	case fsync:
		d.Flush()
		return answer(0, nil)
	case flush, release, releasedir, access:
		return answer(0, nil)
	case forget, forgets, interrupt:
		return nil
	}
	return answer(syscall.ENOSYS, nil)
}
