// Command versitygw serves a directory as S3 on loopback, for tests. It ends when its standard
// input ends, so it never outlives the process that started it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	dir := flag.String("dir", "", "the directory of the buckets")
	side := flag.String("side", "", "a directory for what the server notes of objects")
	addr := flag.String("addr", "", "the host:port to listen on")
	flag.Parse()
	if err := serve(*dir, *side, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "versitygw:", err)
		os.Exit(1)
	}
}

// serve runs the server until standard input ends. Attributes of files serve better than a
// directory beside them, but not all file systems have them.
func serve(dir, side, addr string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
		os.Exit(0)
	}()
	var notes meta.MetadataStorer = meta.XattrMeta{}
	if err := (meta.XattrMeta{}).Test(dir); err != nil {
		beside, err := meta.NewSideCar(side)
		if err != nil {
			return err
		}
		notes = beside
	}
	files, err := posix.New(dir, notes, posix.PosixOpts{Concurrency: 1000})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(ctx, files, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY_ID"), RootUserSecret: os.Getenv("ROOT_SECRET_ACCESS_KEY"),
		Region: "us-east-1", Ports: []string{addr}, KeepAlive: true, Quiet: true,
		MaxConnections: 10_000, MaxRequests: 10_000, MultipartMaxParts: 10_000,
	})
}
