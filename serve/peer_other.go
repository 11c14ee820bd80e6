//go:build !linux

package serve

import (
	"io/fs"
	"net"
)

func checkPeer(*net.UnixConn) error { return unsupported() }

func ownedByUser(fs.FileInfo) bool { return false }

func isShortage(error) bool { return false }

func sendNow(*net.UnixConn, []byte) int { return 0 }

func (m message) write(*net.UnixConn) error { return unsupported() }
