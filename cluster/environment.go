package cluster

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Environment is what a launcher has told a process.
type Environment struct {
	// System is the launcher: "bivouac", "torchrun", "jax", "openmpi", "pmi", "slurm" or "kubernetes".
	// It is empty if the environment says nothing, as for a job of one process.
	System string
	Rank   int // of this process
	World  int // the number of processes
	// LocalRank is the number of the process among those on its machine, or -1 if it is not known.
	LocalRank int
	// Job names the job, or one start of it. It is empty if the launcher gives no name.
	Job string
	// Host names the machine if the launcher does.
	Host string
	// Coordinator is the URL or path of the board (BIVOUAC_COORDINATOR), or empty.
	Coordinator string
}

// Options returns the options of the member that the environment describes.
func (e Environment) Options() Options {
	return Options{Rank: e.Rank, World: e.World, Job: e.Job, Host: e.Host}
}

// launcher is which variables a launcher sets.
type launcher struct {
	system      string
	rank, world []string // the first one that is set counts
	local, job  string
	host        string
	// only, if not empty, must be set too: without it the other variables mean something else.
	only string
	// lonely says that a rank or world alone does not come from this launcher.
	lonely bool
}

// launchers are in the order of their precedence. A launcher that is started by another one comes
// first: torchrun runs inside jobs of Slurm, and mpirun does.
var launchers = []launcher{
	{system: "bivouac", rank: []string{"BIVOUAC_RANK"}, world: []string{"BIVOUAC_WORLD"},
		local: "BIVOUAC_LOCAL_RANK", job: "BIVOUAC_JOB", host: "BIVOUAC_HOST"},
	{system: "torchrun", rank: []string{"RANK"}, world: []string{"WORLD_SIZE"}, local: "LOCAL_RANK", job: "TORCHELASTIC_RUN_ID"},
	{system: "jax", rank: []string{"JAX_PROCESS_ID"}, world: []string{"JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"},
		local: "JAX_LOCAL_PROCESS_ID"},
	{system: "openmpi", rank: []string{"OMPI_COMM_WORLD_RANK"}, world: []string{"OMPI_COMM_WORLD_SIZE"},
		local: "OMPI_COMM_WORLD_LOCAL_RANK", job: "PMIX_NAMESPACE"},
	{system: "pmi", rank: []string{"PMI_RANK"}, world: []string{"PMI_SIZE"}, local: "MPI_LOCALRANKID"},
	// In a batch script, which srun does not run, SLURM_PROCID is 0, and SLURM_NTASKS counts the whole
	// job. srun sets SLURM_STEP_ID.
	{system: "slurm", rank: []string{"SLURM_PROCID"}, world: []string{"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
		local: "SLURM_LOCALID", job: "SLURM_JOB_ID", host: "SLURMD_NODENAME", only: "SLURM_STEP_ID", lonely: true},
	// An indexed Job knows its index; the number of pods is given with BIVOUAC_WORLD.
	{system: "kubernetes", rank: []string{"JOB_COMPLETION_INDEX"}, world: []string{"BIVOUAC_WORLD"}},
}

// FromEnvironment finds rank and world in the variables that launchers set; getenv is os.Getenv.
// The first of these that has set something counts:
//
//	BIVOUAC_RANK          BIVOUAC_WORLD         explicit; also BIVOUAC_LOCAL_RANK, BIVOUAC_JOB
//	RANK                  WORLD_SIZE            torchrun
//	JAX_PROCESS_ID        JAX_NUM_PROCESSES     programs of JAX
//	OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE  Open MPI
//	PMI_RANK              PMI_SIZE              MPICH, Intel MPI
//	SLURM_PROCID          SLURM_STEP_NUM_TASKS  Slurm, in a process that srun has started
//	JOB_COMPLETION_INDEX  BIVOUAC_WORLD         an indexed Job of Kubernetes
//
// So of two launchers the inner one counts. If none has set something, the process is rank 0 of 1.
// The error names the variable that makes no sense: no number, a rank without a world, a rank that
// is not below the world.
func FromEnvironment(getenv func(string) string) (Environment, error) {
	for _, l := range launchers {
		e, found, err := l.read(getenv)
		if err != nil || found {
			e.Coordinator = getenv("BIVOUAC_COORDINATOR")
			if job := getenv("BIVOUAC_JOB"); job != "" {
				e.Job = job
			}
			return e, err
		}
	}
	e := Environment{World: 1, LocalRank: -1, Job: getenv("BIVOUAC_JOB")}
	e.Coordinator = getenv("BIVOUAC_COORDINATOR")
	return e, nil
}

// read reads the variables of a launcher.
func (l launcher) read(getenv func(string) string) (e Environment, found bool, err error) {
	first := func(names []string) (name, value string) {
		for _, name := range names {
			if v := getenv(name); v != "" {
				return name, v
			}
		}
		return names[0], ""
	}
	rankName, rank := first(l.rank)
	worldName, world := first(l.world)
	switch {
	case rank == "" && world == "",
		l.only != "" && getenv(l.only) == "",
		l.lonely && (rank == "" || world == ""),
		l.system == "kubernetes" && rank == "",
		l.system == "bivouac" && rank == "" && getenv("JOB_COMPLETION_INDEX") != "": // the index is the rank
		return e, false, nil
	}
	missing := func(name, other string) error {
		e := &errs.Error{Kind: errs.Invalid, Op: "cluster.FromEnvironment", Subject: name,
			Want: "a number beside " + other, Got: "no such variable", Remedy: "set both variables, or none"}
		if l.system == "kubernetes" {
			e.Remedy = "set BIVOUAC_WORLD to the completions of the Job"
		}
		return e
	}
	if rank == "" {
		return e, false, missing(rankName, worldName+"="+world)
	}
	if world == "" {
		return e, false, missing(worldName, rankName+"="+rank)
	}
	e = Environment{System: l.system, LocalRank: -1}
	if e.World, err = number(worldName, world, 1, maxWorld); err != nil {
		return e, false, err
	}
	if e.Rank, err = number(rankName, rank, 0, maxWorld); err != nil {
		return e, false, err
	}
	if e.Rank >= e.World {
		return e, false, &errs.Error{Kind: errs.Invalid, Op: "cluster.FromEnvironment", Subject: rankName,
			Want: fmt.Sprintf("less than %s=%d", worldName, e.World), Got: rank}
	}
	if v := getenv(l.local); l.local != "" && v != "" {
		if e.LocalRank, err = number(l.local, v, 0, e.World-1); err != nil {
			return e, false, err
		}
	}
	if l.job != "" {
		e.Job = getenv(l.job)
	}
	if l.host != "" {
		e.Host = getenv(l.host)
	}
	return e, true, nil
}

func number(name, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "cluster.FromEnvironment", Subject: name,
			Want: fmt.Sprintf("a number from %d to %d", least, most), Got: strconv.Quote(value)}
	}
	return n, nil
}
