"""What every service process needs: settings, a database, a gRPC server, health and logs."""
