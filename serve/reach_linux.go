package serve

import (
	"bytes"
	"encoding/hex"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

// reach is access to the memory of the client. A load writes arrays there that were read and
// verified here. Memory of the client's own may have huge pages, which shared memory rarely has, so
// its first use costs a fraction.
type reach struct{ pid int }

// newReach returns access to the memory of the process at the other end of the connection, or nil
// if the system does not permit it. The client has written token at address: another process with
// the same number, of another namespace, has not.
func (c *connection) newReach(address uint64, token string) *reach {
	want, err := hex.DecodeString(token)
	if err != nil || len(want) < 16 || address == 0 {
		return nil
	}
	peer, err := peerOf(c.conn)
	if err != nil || peer.Pid <= 0 {
		return nil
	}
	r := &reach{int(peer.Pid)}
	got := make([]byte, len(want))
	local := []unix.Iovec{{Base: &got[0], Len: uint64(len(got))}}
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: len(got)}}
	if n, err := unix.ProcessVMReadv(r.pid, local, remote, 0); err != nil || n != len(got) || !bytes.Equal(got, want) {
		return nil
	}
	if r.write(address, want) != nil { // to read may be permitted where to write is not
		return nil
	}
	return r
}

// write copies bytes to an address of the client.
func (r *reach) write(address uint64, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), 1<<30)
		local := []unix.Iovec{{Base: &b[0], Len: uint64(n)}}
		remote := []unix.RemoteIovec{{Base: uintptr(address), Len: n}}
		n, err := unix.ProcessVMWritev(r.pid, local, remote, 0)
		if err == unix.EINTR {
			continue
		}
		if err == nil && n <= 0 {
			err = unix.EFAULT
		}
		if err != nil {
			return &errs.Error{Kind: errs.IO, Op: "serve.load", Subject: "memory of the client",
				Err: os.NewSyscallError("process_vm_writev", err)}
		}
		address, b = address+uint64(n), b[n:]
	}
	return nil
}

// read copies pieces to their places in mem.
func (r *reach) read(mem []byte, pieces []piece) error {
	local, remote := make([]unix.Iovec, len(pieces)), make([]unix.RemoteIovec, len(pieces))
	want := 0
	for i, p := range pieces {
		local[i] = unix.Iovec{Base: &mem[p.offset], Len: uint64(p.size)}
		remote[i] = unix.RemoteIovec{Base: uintptr(p.address), Len: int(p.size)}
		want += int(p.size)
	}
	n, err := unix.ProcessVMReadv(r.pid, local, remote, 0)
	if err == nil && n != want {
		err = unix.EFAULT
	}
	if err != nil {
		return &errs.Error{Kind: errs.IO, Op: "serve.arena.pull", Subject: "memory of the client",
			Err: os.NewSyscallError("process_vm_readv", err)}
	}
	return nil
}

// scratch returns memory of this process that takes pages only when it is written.
func scratch(size int64) ([]byte, error) {
	const private = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	mem, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, private)
	if err != nil {
		return nil, noMemory(size, os.NewSyscallError("mmap", err))
	}
	return mem, nil
}

// adviseHuge asks for huge pages. Memory that is written, sent and forgotten again and again needs
// them. An arena, which stays, does not: a virtual machine may have to fetch huge pages from its
// host, and the first save would wait for that.
func adviseHuge(mem []byte) {
	unix.Madvise(mem, unix.MADV_HUGEPAGE) //nolint:errcheck // a refusal costs only speed
}

// forget gives back the pages that lie in a part of scratch memory as a whole. Their content is
// lost.
func forget(mem []byte, from, to int64) {
	base := int64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	first := (base+from+hugePage-1)&^(hugePage-1) - base
	last := (base+to)&^(hugePage-1) - base
	if first < last {
		unix.Madvise(mem[first:last], unix.MADV_DONTNEED) //nolint:errcheck // then they stay until the load ends
	}
}
