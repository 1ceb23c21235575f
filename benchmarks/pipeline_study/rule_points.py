"""What the rule agents know of data pipelines, in place of a model's training: a table of statements.

Each line is a component, who knows it, what kind of statement it is, and its words. A rule agent says a statement as
one sentence, and knows that it was said if the statement's words stand in what it reads.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Kind = Literal["choice", "setting", "scaling", "recovery", "cost", "saving", "drawback"]

COMPONENTS = (
    "ingestion", "synchronization", "camera processing", "lidar processing", "radar processing",
    "storage", "training", "inference",
)  # fmt: skip


class Point(NamedTuple):
    """A statement about a component.

    Attributes:
        role: Who knows it.
        subject: The technology of a choice; else empty.
        words: What tells this statement from every other.
    """

    component: str
    role: str
    kind: Kind
    subject: str
    words: str

    @property
    def sentence(self) -> str:
        """As an agent says it."""
        name = self.component.capitalize()
        return {
            "choice": f"For {self.component}, use {self.subject}, because {self.words}.",
            "setting": f"{name} runs with {self.words}.",
            "scaling": f"{name} scales by {self.words}.",
            "recovery": f"{name} recovers by {self.words}.",
            "cost": f"{name} costs {self.words}.",
            "saving": f"{name} saves money by {self.words}.",
            "drawback": f"A drawback of {self.component} is {self.words}.",
        }[self.kind]


_TABLE = """
ingestion | DEA | choice | Amazon Kinesis | every sensor gets a stream of its own
ingestion | DEA | setting | | 12 streams and records of 1 megabyte
ingestion | IA | scaling | | splitting the shards of a busy stream
ingestion | DEA | recovery | | replaying the last 24 hours of a stream
ingestion | BOA | cost | | 1400 dollars a month
ingestion | BOA | saving | | batching small radar records
ingestion | BOA | drawback | the price of idle shards
synchronization | DEA | choice | Apache Flink | it joins twelve sources by event time
synchronization | DEA | setting | | watermarks of 50 milliseconds
synchronization | IA | scaling | | raising the parallelism of its operators
synchronization | DEA | recovery | | checkpoints every 30 seconds
synchronization | BOA | cost | | 900 dollars a month
synchronization | BOA | saving | | sharing one cluster
synchronization | BOA | drawback | the skill that its operation takes
camera processing | MLA | choice | OpenCV on GPU workers | six cameras need decoding in parallel
camera processing | MLA | setting | | batches of 16 frames
camera processing | IA | scaling | | adding workers by the length of the queue
camera processing | IA | recovery | | a dead-letter queue for broken frames
camera processing | BOA | cost | | 2600 dollars a month
camera processing | BOA | saving | | spot instances for decoding
camera processing | MLA | drawback | the scarcity of GPUs at peak hours
lidar processing | DEA | choice | Open3D | it reads binary point clouds
lidar processing | DEA | setting | | voxels of 10 centimetres
lidar processing | IA | scaling | | one partition for each vehicle
lidar processing | IA | recovery | | retries with the raw cloud
lidar processing | BOA | cost | | 700 dollars a month
lidar processing | BOA | saving | | downsampling before storage
lidar processing | MLA | drawback | the loss of small objects
radar processing | DEA | choice | the Point Cloud Library | it filters sparse returns
radar processing | DEA | setting | | a window of 200 milliseconds
radar processing | IA | scaling | | grouping five radars on each worker
radar processing | IA | recovery | | falling back to the last good scan
radar processing | BOA | cost | | 300 dollars a month
radar processing | BOA | saving | | small virtual machines
radar processing | MLA | drawback | the noise of wet roads
storage | IA | choice | Amazon S3 | raw data must stay for years
storage | IA | setting | | Parquet files of 128 megabytes by day and vehicle
storage | IA | scaling | | prefixes for each vehicle and hour
storage | IA | recovery | | copies in a second region
storage | BOA | cost | | 3100 dollars a month
storage | BOA | saving | | moving old data to Glacier
storage | BOA | drawback | the delay of cold restores
training | MLA | choice | Amazon SageMaker | experiments and models stay traceable
training | MLA | setting | | nightly jobs on 4 nodes
training | IA | scaling | | distributed data-parallel jobs
training | MLA | recovery | | resuming from the last epoch
training | BOA | cost | | 4200 dollars a month
training | BOA | saving | | managed spot training
training | MLA | drawback | the lock-in to one vendor
inference | MLA | choice | NVIDIA Triton | its answers take less than 30 milliseconds
inference | MLA | setting | | 2 model versions behind one endpoint
inference | IA | scaling | | replicas by requests in flight
inference | IA | recovery | | health checks and a rollback to the prior model
inference | BOA | cost | | 2200 dollars a month
inference | BOA | saving | | quantized models
inference | BOA | drawback | the double cost of a shadow model
"""


def _read(line: str) -> Point:
    component, role, kind, *rest = (part.strip() for part in line.split("|"))
    assert component in COMPONENTS, line
    found = next(one for one in get_args(Kind) if one == kind)
    return Point(component, role, found, rest[0] if len(rest) > 1 else "", rest[-1])


POINTS = tuple(_read(line) for line in _TABLE.strip().splitlines())


def said_in(text: str) -> tuple[Point, ...]:
    """The statements whose words stand in ``text``, in the order of the table."""
    folded = " ".join(text.casefold().split())
    return tuple(point for point in POINTS if point.words.casefold() in folded)
