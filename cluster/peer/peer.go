package peer

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/errs"
)

// protocol is the version of requests.
const protocol = 1

// Options of Open. The zero value is ready to use. All processes of a job need the same Name and
// Silence.
type Options struct {
	// Name tells several Peers of one Member apart. The default is "peers".
	Name string
	// Listen is the address on which this process waits for others, such as "10.0.0.7:0". The default
	// is a free port on all interfaces.
	Listen string
	// Host is the name or address at which others find this process. The default is each address of
	// its interfaces, in turn.
	Host string
	// CertFile and KeyFile are PEM files of a certificate and its key. The default is a certificate
	// that is made for the run.
	CertFile, KeyFile string
	// CAFile is a PEM file of authorities, one of which must have signed the certificates of others
	// for their Host. The default is that only the fingerprint on the board counts.
	CAFile string
	// Silence is how long a process may send nothing before it counts as lost. The default is 30
	// seconds.
	Silence time.Duration
	// Deadline is how long a process waits for work of another one that still gives signs of life. The
	// default is 10 minutes.
	Deadline time.Duration
}

// Defaults of Options.
const (
	defaultSilence  = 30 * time.Second
	defaultDeadline = 10 * time.Minute
)

// Peers are the connections of one process to the others of its job. They implement options.Peers
// of package checkpoint/options. All methods may be called concurrently.
type Peers struct {
	member *cluster.Member
	o      Options
	token  string
	roots  *x509.CertPool
	cards  []card // by rank
	server *http.Server
	served chan error
	turn   chan struct{} // has an element while a load uses the Peers

	ctx  context.Context // ends at Close
	stop context.CancelFunc

	mu       sync.Mutex
	rounds   int
	offers   map[string]*offer
	changed  chan struct{} // closed when offers change
	dialers  map[int]*http.Client
	closing  sync.Once
	closeErr error
}

// card is what a process tells the others about itself.
type card struct {
	Protocol  int           `json:"protocol"`
	Addresses []string      `json:"addresses"`
	Host      string        `json:"host"`
	Print     string        `json:"fingerprint"`
	Token     string        `json:"token"`
	Silence   time.Duration `json:"silence"`
}

// Open listens for the other processes, and tells them how to connect. All processes of the job
// call it. The Member must be open until Close.
func Open(ctx context.Context, m *cluster.Member, o Options) (*Peers, error) {
	const op = "peer.Open"
	if o.Silence < 0 || o.Deadline < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "Options.Silence, Options.Deadline", Want: "times",
			Got: o.Silence.String() + ", " + o.Deadline.String()}
	}
	if o.Name == "" {
		o.Name = "peers"
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	cert, err := o.certificate()
	if err != nil {
		return nil, err
	}
	p := &Peers{member: m, o: o, token: rand.Text() + rand.Text(), served: make(chan error, 1),
		turn:   make(chan struct{}, 1),
		offers: map[string]*offer{}, changed: make(chan struct{}), dialers: map[int]*http.Client{}}
	if p.roots, err = o.authority(); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listenAt(o.Listen))
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Op: op, Subject: "Options.Listen", Want: "an address to listen on",
			Got: listenAt(o.Listen),
			Err: err}
	}
	p.ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: o.Silence,
		ErrorLog:    log.New(io.Discard, "", 0), // the other side of a connection says what went wrong
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert},
			NextProtos: []string{"http/1.1"}}}
	go func() { p.served <- p.server.ServeTLS(l, "", "") }()
	own := card{Protocol: protocol, Addresses: addresses(o.Host, l.Addr()), Host: o.Host,
		Print: fingerprint(cert.Certificate[0]),
		Token: p.token, Silence: o.Silence}
	if err := p.meet(ctx, own); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// meet exchanges cards with the other processes.
func (p *Peers) meet(ctx context.Context, own card) error {
	const op = "peer.Open"
	b, err := json.Marshal(own)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: op, Err: err}
	}
	all, err := p.member.Gather(ctx, p.o.Name+"/open", b)
	if err != nil {
		return errs.Wrap(op, "", err)
	}
	p.cards = make([]card, len(all))
	for rank, b := range all {
		c := &p.cards[rank]
		who := "rank " + strconv.Itoa(rank)
		if err := json.Unmarshal(b, c); err != nil || c.Protocol == 0 {
			return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: who, Want: "a card with addresses",
				Got:    "other bytes",
				Remedy: "all processes must run the same program"}
		}
		if c.Protocol != protocol {
			return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: who + ": version of the protocol",
				Want: strconv.Itoa(protocol),
				Got:  strconv.Itoa(c.Protocol), Remedy: "run the same version of Bivouac in all processes"}
		}
		if c.Silence != p.o.Silence {
			return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: who + ": Options.Silence",
				Want: p.o.Silence.String(),
				Got:  c.Silence.String(), Remedy: "give all processes the same options"}
		}
	}
	return nil
}

func listenAt(address string) string {
	if address == "" {
		return ":0"
	}
	return address
}

// mostAddresses bounds the addresses that a process tells.
const mostAddresses = 16

// addresses lists where others may find a listener.
func addresses(host string, at net.Addr) []string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return []string{at.String()}
	}
	port := strconv.Itoa(tcp.Port)
	switch {
	case host != "":
		return []string{net.JoinHostPort(host, port)}
	case !tcp.IP.IsUnspecified():
		return []string{at.String()}
	}
	var out, local []string
	all, _ := net.InterfaceAddrs() //nolint:errcheck // the loopback address is left
	for _, a := range all {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || n.IP.IsLinkLocalUnicast():
		case n.IP.IsLoopback():
			local = append(local, net.JoinHostPort(n.IP.String(), port))
		case len(out) < mostAddresses:
			out = append(out, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if len(local) == 0 {
		local = []string{net.JoinHostPort("127.0.0.1", port)}
	}
	return append(out, local...)
}

// Rank returns the number of this process.
func (p *Peers) Rank() int { return p.member.Rank() }

// World returns the number of processes.
func (p *Peers) World() int { return p.member.World() }

// Limits returns Options.Silence and Options.Deadline.
func (p *Peers) Limits() (silence, deadline time.Duration) { return p.o.Silence, p.o.Deadline }

// Acquire waits until no other load of this process uses p.
func (p *Peers) Acquire(ctx context.Context) (release func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, &errs.Error{Kind: errs.Canceled, Op: "peer.Acquire", Err: context.Cause(ctx)}
	case <-p.ctx.Done():
		return nil, &errs.Error{Kind: errs.Closed, Op: "peer.Acquire"}
	}
}

// Exchange gives a value to all processes and returns the values of all, by rank. The n-th call of
// each process meets the n-th call of the others.
func (p *Peers) Exchange(ctx context.Context, given []byte) ([][]byte, error) {
	p.mu.Lock()
	p.rounds++
	key := fmt.Sprintf("%s/%d", p.o.Name, p.rounds)
	p.mu.Unlock()
	return p.member.Gather(ctx, key, given)
}

// Close ends all streams. It may be called twice.
func (p *Peers) Close() error {
	p.closing.Do(func() {
		p.stop()
		err := p.server.Close()
		if e := <-p.served; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.dialers {
			c.CloseIdleConnections()
		}
		if err != nil {
			p.closeErr = &errs.Error{Kind: errs.IO, Op: "peer.Close", Err: err}
		}
	})
	return p.closeErr
}
