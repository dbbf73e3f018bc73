"""Transport over Kafka: queues and topics are topics of Kafka, and leases are in a store that instances share."""
