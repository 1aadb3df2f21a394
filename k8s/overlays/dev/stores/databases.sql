-- One database for each service; they never look into each other's.
CREATE DATABASE registry;
CREATE DATABASE scheduler;
CREATE DATABASE telemetry;
