//go:build unix

package serve

import (
	"net"

	"golang.org/x/sys/unix"
)

// write sends the frame. The file travels with its first byte.
func (m message) write(conn *net.UnixConn) error {
	frame := m.frame
	if m.file != nil {
		n, _, err := conn.WriteMsgUnix(frame[:headerBytes], unix.UnixRights(int(m.file.Fd())), nil)
		if err != nil {
			return err
		}
		frame = frame[n:]
	}
	_, err := conn.Write(frame)
	return err
}
