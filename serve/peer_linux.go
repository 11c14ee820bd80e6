package serve

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

// checkPeer refuses a client of another user.
func checkPeer(conn *net.UnixConn) error {
	peer, err := peerOf(conn)
	if err != nil {
		return err
	}
	return checkUser(int(peer.Uid))
}

// peerOf returns the process that made the other end of a connection.
func peerOf(conn *net.UnixConn) (peer *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return peer, os.NewSyscallError("getsockopt", failed)
}

func checkUser(uid int) error {
	if own := os.Geteuid(); uid != own {
		return &errs.Error{Kind: errs.Permission, Op: "serve", Subject: "client", Want: "user " + strconv.Itoa(own),
			Got: "user " + strconv.Itoa(uid)}
	}
	return nil
}

// ownedByUser reports whether a file belongs to this user.
func ownedByUser(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// isShortage reports whether an error passes when other connections end.
func isShortage(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) ||
		errors.Is(err, unix.ECONNABORTED)
}

// sendNow sends what the socket takes of a frame at once, and returns how many bytes. An error
// shows when the rest is sent.
func sendNow(conn *net.UnixConn, frame []byte) (sent int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		sent, failed = unix.SendmsgN(int(fd), frame, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return true
	})
	if err != nil || failed != nil {
		return 0
	}
	return sent
}

// write sends the frame. The files travel with its first byte.
func (m message) write(conn *net.UnixConn) error {
	frame := m.frame
	if len(m.files) > 0 {
		numbers := make([]int, len(m.files))
		for i, f := range m.files {
			numbers[i] = int(f.Fd())
		}
		n, _, err := conn.WriteMsgUnix(frame[:headerBytes], unix.UnixRights(numbers...), nil)
		if err != nil {
			return err
		}
		frame = frame[n:]
	}
	_, err := conn.Write(frame)
	return err
}
