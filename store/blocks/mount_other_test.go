//go:build unix && !linux

package blocks_test

import "errors"

func mountSmall(string) error { return errors.New("the system is not Linux") }

func unmount(string) {}
