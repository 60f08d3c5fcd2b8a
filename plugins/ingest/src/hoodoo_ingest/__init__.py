"""Tables fed from folders of files and from Kafka, by one configuration file: the job of Hudi's
HoodieStreamer."""

__version__ = "0.2.0"
