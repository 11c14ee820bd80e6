package serve

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// waitFor polls a condition that another process or the kernel brings about.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// sidecar is a server in a process of its own.
type sidecar struct {
	*client
	cmd *exec.Cmd
	log bytes.Buffer
}

// newSidecar starts one and says hello.
func newSidecar(t testing.TB) *sidecar {
	t.Helper()
	ours, theirs := pair(t)
	f, err := theirs.File()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := &sidecar{client: &client{t: t, conn: ours}, cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), asServer+"=1")
	s.cmd.ExtraFiles = []*os.File{f}
	s.cmd.Stderr = &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = s.cmd.Start()
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	s.greet()
	return s
}

// end closes the connection and waits for the process.
func (s *sidecar) end() {
	s.t.Helper()
	s.conn.Close()
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("%v: %s", err, s.log.String())
	}
}

// TestSaveOutlivesTheTrainer ends the connection right after accepted. The process commits the
// save, and ends.
func TestSaveOutlivesTheTrainer(t *testing.T) {
	s := newSidecar(t)
	path := filepath.Join(t.TempDir(), "ckpt")
	id, mem := s.arena(16 << 20)
	for i := range mem {
		mem[i] = byte(i >> 8)
	}
	k := s.start("save", object{"path": path, "arena": id, "items": state(4 << 20)})
	s.await(func(x said) bool { return x.ID == k && x.Event == "accepted" })
	s.end()
	n, err := checkpoint.Load(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := n.Get("w").Tensor(); !bytes.Equal(v.Data, mem) {
		t.Error("other bytes")
	}
}

// TestNotAcceptedIsNotSaved ends the connection without waiting for accepted: the checkpoint is
// there whole, or not at all, and nothing is left beside it.
func TestNotAcceptedIsNotSaved(t *testing.T) {
	for range 8 {
		s := newSidecar(t)
		dir := t.TempDir()
		id, _ := s.arena(1 << 20)
		s.start("save", object{"path": filepath.Join(dir, "ckpt"), "arena": id, "items": state(1 << 18)})
		s.end()
		sound(t, dir)
	}
}

// sound checks that a directory has at most the checkpoint "ckpt", whole.
func sound(t *testing.T, dir string) (saved bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "ckpt" {
			t.Errorf("%s is left", e.Name())
			continue
		}
		if _, err := checkpoint.Load(t.Context(), filepath.Join(dir, "ckpt"), nil); err != nil {
			t.Error(err)
		}
		saved = true
	}
	return saved
}

// TestCancelASave cancels a save that was accepted: it is gone, or it was too late.
func TestCancelASave(t *testing.T) {
	c := served(t)
	id, _ := c.arena(32 << 20)
	for range 4 {
		dir := t.TempDir()
		k := c.start("save", object{"path": filepath.Join(dir, "ckpt"), "arena": id, "items": state(8 << 20)})
		c.await(func(s said) bool { return s.ID == k && s.Event == "accepted" })
		c.send(kindCancel, object{"id": k})
		s := c.wait(k)
		if s.Error != nil && s.Error.Kind != "canceled" {
			t.Errorf("%s", s.Body)
		}
		if sound(t, dir) != (s.Error == nil) {
			t.Errorf("%s", s.Body)
		}
	}
}

// figures are what must be as before after connections have ended. A memfd is gone with its last
// descriptor and its last mapping.
type figures struct{ fds, maps int }

func figuresOf(t testing.TB) (f figures) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return figures{len(fds), strings.Count(string(maps), "memfd:bivouac")}
}

// TestConnectionsGiveEverythingBack opens connections with arenas, checkpointers, loads and saves,
// and ends them without a word: files and memory are as before, also where a load was not received.
func TestConnectionsGiveEverythingBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ckpt")
	round := func() {
		ours, theirs := pair(t)
		done := make(chan error, 1)
		go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
		c := &client{t: t, conn: ours}
		c.greet()
		var v struct{ Arena int64 }
		for range 3 {
			c.call("arena.new", object{"bytes": 8 << 20}).into(t, &v)
			unix.Close(c.fd())
		}
		c.call("arena.free", object{"arena": v.Arena - 2})
		c.call("save", object{"path": path, "arena": v.Arena, "items": state(2 << 20), "overwrite": true})
		c.quiet("training.open", object{"dir": filepath.Join(filepath.Dir(path), "run")})
		c.call("load", object{"path": path})
		unix.Close(c.fd())
		c.refused(errs.Mismatch, "load", object{"path": path,
			"abstract": raw(`["d",["w","step"],[["s","float32",[1]],null]]`)})
		c.start("load", object{"path": path}) // nobody reads the answer
		ours.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	round()
	before := figuresOf(t)
	for range 8 {
		round()
	}
	waitFor(t, func() bool {
		now := figuresOf(t)
		return now.fds <= before.fds && now.maps == 0
	})
}

// TestListen serves two clients. One breaks the protocol; the other goes on. The server ends after
// the last one, removes its socket, and its directory is private.
func TestListen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "private")
	path := filepath.Join(dir, "s")
	done := make(chan error, 1)
	o := ListenOptions{Options: Options{Version: testVersion}, Linger: time.Second}
	go func() { done <- Listen(context.Background(), path, o) }()
	dial := func() *client {
		var conn net.Conn
		waitFor(t, func() (ok bool) {
			var err error
			conn, err = net.Dial("unix", path)
			return err == nil
		})
		c := &client{t: t, conn: conn.(*net.UnixConn)}
		c.greet()
		return c
	}
	one, two := dial(), dial()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info, err)
	}
	if err := Listen(context.Background(), path, o); errs.KindOf(err) != errs.Busy {
		t.Error(err)
	}
	id, _ := one.arena(4096)
	two.refused(errs.NotFound, "arena.free", object{"arena": id}) // each has its own
	one.conn.Write([]byte("garbage, and more of it"))
	two.arena(4096)
	one.conn.Close()
	two.call("is_checkpoint", object{"path": "/nowhere"})
	two.conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Error("the socket is left:", err)
	}
}

// TestListenRefusals lists paths at which no server listens.
func TestListenRefusals(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(open, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(private, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]errs.Kind{
		filepath.Join(open, "s"):                            errs.Permission,
		filepath.Join(private, "file"):                      errs.Exists,
		filepath.Join(private, strings.Repeat("long", 100)): errs.IO,
	} {
		if err := Listen(context.Background(), path, ListenOptions{}); errs.KindOf(err) != kind {
			t.Errorf("%s: %v, want %v", path, err, kind)
		}
	}
	if err := Listen(context.Background(), filepath.Join(private, "s"),
		ListenOptions{Linger: -1}); errs.KindOf(err) != errs.Invalid {
		t.Error(err)
	}
	if err := checkUser(os.Geteuid() + 1); errs.KindOf(err) != errs.Permission {
		t.Error(err)
	}
}

// TestStaleSocket listens at the socket of a server that was killed.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private", "s")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if err := Listen(context.Background(), path, ListenOptions{Linger: time.Millisecond}); err != nil {
		t.Error(err)
	}
}

// TestInheritedDescriptors refuses what is not a Unix socket.
func TestInheritedDescriptors(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(f.Fd()))
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range []int{-1, 999999, fd} {
		if err := ServeFile(context.Background(), fd, Options{}); errs.KindOf(err) != errs.Invalid {
			t.Error(fd, err)
		}
	}
}

// TestRandomKillsLong connects, saves and ends at random: the trainer by closing its socket, the
// side-car by SIGKILL. Whatever was accepted before the trainer's end is there, and every
// checkpoint is whole.
func TestRandomKillsLong(t *testing.T) {
	rounds := 12
	if os.Getenv("BIVOUAC_LONG") != "" {
		rounds = 500
	}
	r := rand.New(rand.NewPCG(1, 2))
	before := figuresOf(t)
	for i := range rounds {
		s := newSidecar(t)
		dir := t.TempDir()
		id, _ := s.arena(8 << 20)
		k := s.start("save", object{"path": filepath.Join(dir, "ckpt"), "arena": id, "items": state(r.IntN(2 << 20))})
		waits := r.IntN(2) == 0
		if waits {
			s.await(func(x said) bool { return x.ID == k && x.Event == "accepted" })
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond) // an instant of the save, by chance
		if r.IntN(3) == 0 {
			s.cmd.Process.Kill()
			s.cmd.Wait() //nolint:errcheck // it was killed
			s.conn.Close()
			if n, err := checkpoint.Load(t.Context(), filepath.Join(dir, "ckpt"), nil); err == nil &&
				n.Get("step").Value != int64(7) ||
				err != nil && errs.KindOf(err) != errs.NotFound {
				t.Errorf("round %d: %v", i, err)
			}
			continue
		}
		s.end()
		if saved := sound(t, dir); waits && !saved {
			t.Errorf("round %d: what was accepted is not there", i)
		}
	}
	if now := figuresOf(t); now.fds > before.fds+2 {
		t.Errorf("%+v, before %+v", now, before)
	}
}

// TestSlowClient checks that a client that reads nothing holds up nobody, and that its saves are
// committed.
func TestSlowClient(t *testing.T) {
	c, other := served(t), served(t)
	dir := t.TempDir()
	for i := range 2000 {
		c.start("metadata", object{"path": fmt.Sprint("/nowhere/", i)})
	}
	id, _ := other.arena(4096)
	other.call("save", object{"path": filepath.Join(dir, "ckpt"), "arena": id, "items": state(8)})
	for range 2000 {
		if s := c.next(); s.Error == nil {
			t.Fatalf("%s", s.Body)
		}
	}
}

// TestLastFramesArrive checks that a result is sent before the end of the connection.
func TestLastFramesArrive(t *testing.T) {
	ours, theirs := pair(t)
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), theirs, Options{Version: testVersion}) }()
	c := &client{t: t, conn: ours}
	c.greet()
	k := c.start("is_checkpoint", object{"path": "/nowhere"})
	ours.CloseWrite()
	if s := c.next(); s.ID != k {
		t.Errorf("%s", s.Body)
	}
	<-done
	ours.Close()
}
